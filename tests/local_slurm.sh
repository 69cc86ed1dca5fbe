#!/bin/sh
# A Slurm cluster of one node on the loopback interface, for tests.
#   local_slurm.sh DIR PORT COMMAND...    starts it in DIR, runs COMMAND with it, and ends it again
# Exit code 77: there is no Slurm here, or it does not start.
set -u
dir=$1 port=$2
shift 2
PATH=$PATH:/usr/sbin
command -v slurmctld >/dev/null && command -v slurmd >/dev/null && command -v sbatch >/dev/null || exit 77
mkdir -p "$dir/state" "$dir/spool" || exit 77
node=$(hostname -s)
cat >"$dir/slurm.conf" <<END
ClusterName=weft
SlurmctldHost=$node(127.0.0.1)
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthType=auth/none
CredType=cred/none
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
SlurmctldPort=$port
SlurmdPort=$((port + 1))
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd.pid
SlurmctldLogFile=$dir/slurmctld.log
SlurmdLogFile=$dir/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=1,batch_sched_delay=0
MinJobAge=10
ReturnToService=2
NodeName=$node NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=test Nodes=$node Default=YES State=UP
END
export SLURM_CONF="$dir/slurm.conf"
slurmctld -D >/dev/null 2>&1 &
controller=$!
slurmd -D >/dev/null 2>&1 &
daemon=$!
trap 'kill $daemon $controller 2>/dev/null; wait 2>/dev/null' EXIT
for i in $(seq 60); do
  case $(sinfo -h -o %T 2>/dev/null) in idle*) ready=yes && break ;; esac
  sleep 0.5
done
[ "${ready:-}" ] || exit 77
"$@"

#!/bin/sh
# Accelerators as nodes of their own: their Linux is booted beside that of a server, a user of the server logs in to
# them over the simulated network, and runs programs there.
#   examples/log_in.sh [MACHINE [NODES [--set KEY=VALUE...]]]
# The first node is the server; the others are accelerators, which nodes know as knc0, knc1, ... Everything goes over
# TCP/IP: ssh, and the MPI program that the user starts on the first accelerator, on all of them. Needs dropbear-bin.
set -eu

if [ "${NODE:-}" = "" ]; then # on the host
  here=$(cd "$(dirname "$0")" && pwd)
  weft=${WEFT:-$here/../weft}
  machine=${1:-$here/attached.toml}
  nodes=${2:-3}
  [ $# -lt 2 ] && shift $# || shift 2
  WORK=$(mktemp -d)
  export WORK
  trap 'rm -rf "$WORK"' EXIT
  dropbearkey -t ed25519 -f "$WORK/key" 2>/dev/null | grep '^ssh-' >"$WORK/key.pub"
  dropbearkey -t ed25519 -f "$WORK/hostkey" >/dev/null 2>&1
  cat >"$WORK/ring.c" <<C
#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
  int rank, ranks, sum = 0, length;
  char name[MPI_MAX_PROCESSOR_NAME];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (rank > 0) MPI_Recv(&sum, 1, MPI_INT, rank - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  sum += rank + 1;
  if (rank < ranks - 1) MPI_Send(&sum, 1, MPI_INT, rank + 1, 0, MPI_COMM_WORLD);
  MPI_Get_processor_name(name, &length);
  printf("rank %d of %d on %s: %d so far\n", rank, ranks, name, sum);
  MPI_Finalize();
}
C
  mpicc.openmpi -O2 -o "$WORK/ring" "$WORK/ring.c"
  "$weft" boot "$machine" "$@" -n "$nodes" --memory 256MiB -- "$(readlink -f "$0")"
  exit
fi

# On a node.
home=~root
rm -f "$home/.bashrc" "$home/.profile"
mkdir -p "$home/.ssh" /usr/local/bin
chmod 700 "$home" "$home/.ssh"
cp "$WORK/key.pub" "$home/.ssh/authorized_keys"
chmod 600 "$home/.ssh/authorized_keys"
printf '#!/bin/sh\nexec dbclient -y -y -i %s "$@" 2>/dev/null\n' "$WORK/key" >/usr/local/bin/ssh
chmod +x /usr/local/bin/ssh
PATH=/usr/local/bin:$PATH
if [ "$ACCELERATOR" ]; then
  echo "${ACCELERATOR} is up" >/run/greeting
  dropbear -r "$WORK/hostkey" -P /run/dropbear.pid 2>/dev/null
  while [ ! -e /run/done ]; do sleep 1; done # the user says when it is
  exit
fi
sleep 2
last=$((NODES - 2))
for i in $(seq 0 $last); do ssh "root@knc$i" 'echo "$(cat /run/greeting), a user of node0 is logged in to $(hostname)"'; done
mpi="mpirun.openmpi --allow-run-as-root --mca plm_rsh_agent ssh --mca pml ob1 --mca btl tcp,self"
mpi="$mpi --mca btl_tcp_if_include eth0 --mca oob_tcp_if_include eth0"
hosts=$(for i in $(seq 0 $last); do printf 'node%d:1,' $((i + 1)); done)
ssh root@knc0 "PATH=/usr/local/bin:\$PATH; cd /run; $mpi --host ${hosts%,} -np $((last + 1)) $WORK/ring"
for i in $(seq 0 $last); do ssh "root@knc$i" touch /run/done; done

#!/bin/sh
# What the interface's own protocol buys LAMMPS, against TCP/IP on the same machine:
#   examples/lammps_over_tcp.sh [MACHINE [RANKS [--set KEY=VALUE...]]]
# Runs the same input twice, as ranks on the interface (`weft run`) and by mpirun on booted Linux nodes (`weft boot`), and
# prints the times that LAMMPS reports: of communication, and of its whole loop. Neither way sees what LAMMPS computes;
# so each rank sleeps in each step for as long as its atoms would take, alike in both: ATOM_NS for each of them (700 at
# 2.5 GHz: a core of a server takes 600 to 700 with Debian's LAMMPS), more on a slower processor by its clock. The
# kernel's work on frames is what [node.device.eth0] says. Needs lammps and dropbear-bin (for ssh).
set -eu

if [ "${NODE:-}" = "" ]; then # on the host
  weft=${WEFT:-$(cd "$(dirname "$0")/.." && pwd)/weft}
  machine=${1:-extoll-tourmalet}
  ranks=${2:-4}
  [ $# -lt 2 ] && shift $# || shift 2
  clock=$("$weft" show "$machine" "$@" --sources | sed -n 's/^processor.clock *"\([0-9.]*\)GHz".*/\1/p')
  step=$(awk "BEGIN { printf \"%.9f\", ${ATOM_NS:-700} * 2.5 / ${clock:-2.5} * 2048 / $ranks * 1e-9 }")
  WORK=$(mktemp -d)
  export WORK RANKS="$ranks"
  trap 'rm -rf "$WORK"' EXIT
  dropbearkey -t ed25519 -f "$WORK/key" 2>/dev/null | grep '^ssh-' >"$WORK/key.pub"
  dropbearkey -t ed25519 -f "$WORK/hostkey" >/dev/null 2>&1
  cat >"$WORK/in.melt" <<MELT
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 8 0 8 0 8
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
neighbor 0.3 bin
neigh_modify delay 0 every 20 check no
fix 1 all nve
python computing here """
import ctypes, time
ctypes.CDLL(None).prctl(29, 1) # PR_SET_TIMERSLACK: or a kernel lets it sleep up to 50 us longer
def computing(lammps, flag):
    time.sleep($step)
"""
fix 2 all python/invoke 1 post_force computing
thermo 50
run 50
MELT
  loop_time() { sed -n 's/.*Loop time of \([0-9.e-]*\) .*/\1/p' "$1" | head -n 1; }
  comm_time() { sed -n 's/.*Comm *|[^|]*| *\([0-9.e-]*\) *|.*/\1/p' "$1" | head -n 1; }
  "$weft" run "$machine" "$@" -n "$ranks" --quiet -- lmp -in "$WORK/in.melt" -log none >"$WORK/native"
  "$weft" boot "$machine" "$@" -n "$ranks" --memory 256MiB --quiet -- "$(readlink -f "$0")" >"$WORK/tcp"
  native=$(loop_time "$WORK/native")
  tcp=$(loop_time "$WORK/tcp")
  [ "$native" ] && [ "$tcp" ] || { cat "$WORK/native" "$WORK/tcp"; exit 1; }
  echo "LAMMPS, 2048 atoms, 50 steps, $ranks ranks on $machine, $step s of computing in a step"
  awk "BEGIN {
    n = $(comm_time "$WORK/native"); t = $(comm_time "$WORK/tcp")
    printf \"  communication: %.3f ms over the interface, %.3f ms over TCP/IP: %.1f%% less\n\", n * 1e3, t * 1e3, 100 - 100 * n / t
    printf \"  its whole loop: %.3f ms over the interface, %.3f ms over TCP/IP: %.1f%% less\n\", $native * 1e3, $tcp * 1e3,
      100 - 100 * $native / $tcp
  }"
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
dropbear -r "$WORK/hostkey" -P /run/dropbear.pid 2>/dev/null
if [ "$NODE" != 0 ]; then
  while [ ! -e /run/done ]; do sleep 1; done # the first says when it is
  exit
fi
sleep 2
for n in $(seq 0 $((RANKS - 1))); do echo "node$n slots=1"; done >/run/hosts
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
mpirun.openmpi --hostfile /run/hosts -np "$RANKS" --mca plm_rsh_agent ssh --mca pml ob1 --mca btl tcp,self \
  --mca btl_tcp_if_include eth0 --mca oob_tcp_if_include eth0 lmp -in "$WORK/in.melt" -log none
for n in $(seq 1 $((RANKS - 1))); do ssh "root@node$n" touch /run/done; done

#!/bin/sh
# For `weft boot`: every Linux node runs this. The first asks the second how far it is; the others wait a while.
echo "$(hostname) of $NODES, $(uname -sr), at $(date -u +%T)"
sleep 1
[ "$NODE" = 0 ] && ping -c 3 node1 | tail -2
sleep 5

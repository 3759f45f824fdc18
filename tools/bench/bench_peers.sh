#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# hcomm and one MPI, in the same processes, in a running lab: ranks of its node 0,
# or one rank on each of its first nodes.
#
#   bench_peers.sh LAB PEER RANKS [OPTION...]		PEER: openmpi, mpich
#   bench_peers.sh LAB PEER nodes=N [OPTION...]		PEER: openmpi, openmpi-verbs, mpich
#
# An OPTION is one of bench_mpi.
#
# Variables of the guests are expanded there:
# shellcheck disable=SC2016

cd "$(dirname "$0")/../.." || exit 1
lab=${1:?name of a running lab}
peer=${2:?openmpi, openmpi-verbs or mpich}
ranks=${3:?number of ranks, or nodes=N}
shift 3
# of a table, in seconds; its own end comes before
limit=${LIMIT:-900}
port=18700

die() { echo "bench_peers: $*" >&2; exit 2; }
on() { tools/lab/lab run --name "$lab" --node "$1" -q --timeout "$limit" --cwd "$PWD" -- "${@:2}"; }

# One node.  Open MPI: shared memory, and single copies by the kernel (CMA) for
# what is large.  MPICH of Debian is ch4:ucx without shared memory of its own: UCX
# moves everything.  By default it takes the RDMA device between processes of one
# node, too, which over Soft-RoCE ends in timeouts; "sm" is its shared memory and
# CMA, which from 1 MiB is twice as fast as shared memory alone.  With more ranks
# than CPUs MPICH polls on until its time slice ends: ch4 has nothing to set there.
one_node() {
	case $peer in
	openmpi)
		on 0 mpirun.openmpi --allow-run-as-root --oversubscribe -np "$ranks" \
			--mca pml ob1 --mca btl vader,self \
			--mca btl_vader_single_copy_mechanism cma \
			build/bin/bench_mpi_openmpi "$@" ;;
	mpich)
		on 0 env UCX_TLS=self,sm mpirun.mpich -np "$ranks" \
			build/bin/bench_mpi_mpich "$@" ;;
	*) die "'$peer' is no peer on one node" ;;
	esac
}

# Open MPI, started on several nodes
openmpi() {
	on 0 mpirun.openmpi --allow-run-as-root -np "$ranks" -H "$hosts" --wdir "$PWD" \
		--mca plm_rsh_agent "$PWD/tools/bench/remote.sh" \
		--mca oob_tcp_if_include eth0 -x HCOMM_ROOT=node0:$port "$@"
}

# Several nodes.  Open MPI has TCP, and verbs by libfabric: connections made by
# rdmacm, with queues for 8 peers, since those for the default of 256 are more than
# Soft-RoCE allows.  UCX, of both, makes verbs connections by datagrams (UD): with
# it messages time out on Soft-RoCE.  Debian's openib has no rdmacm.  So MPICH has TCP.
several_nodes() {
	local i
	hosts=node0
	for ((i = 1; i < ranks; i++)); do
		hosts+=,node$i
		on "$i" sh -c 'setsid tools/bench/remote.sh serve >/dev/null 2>&1 </dev/null &'
		on 0 sh -c 'for i in $(seq 50); do
				[ "$(tools/bench/remote.sh "$1" echo up)" ] && exit
				sleep 0.2
			done; exit 1' sh "node$i" || die "node$i does not answer"
	done
	case $peer in
	openmpi)
		openmpi --mca pml ob1 --mca btl tcp,self --mca btl_tcp_if_include eth0 \
			build/bin/bench_mpi_openmpi --network TCP "$@" ;;
	openmpi-verbs)
		openmpi --mca pml cm --mca mtl ofi \
			--mca mtl_ofi_provider_include "verbs;ofi_rxm" -x FI_UNIVERSE_SIZE=8 \
			build/bin/bench_mpi_openmpi --network verbs "$@" ;;
	mpich)
		on 0 mpirun.mpich -np "$ranks" -hosts "$hosts" -wdir "$PWD" \
			-launcher rsh -launcher-exec "$PWD/tools/bench/remote.sh" \
			-genv HCOMM_ROOT node0:$port \
			-genv UCX_TLS self,tcp -genv UCX_NET_DEVICES eth0 \
			build/bin/bench_mpi_mpich --network TCP "$@" ;;
	*) die "'$peer' is no peer on several nodes" ;;
	esac
}

if [[ $ranks == nodes=* ]]; then
	ranks=${ranks#nodes=}
	several_nodes "$@"
else
	one_node "$@"
fi

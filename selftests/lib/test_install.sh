#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# What make install-lib gives is enough to build programs: each header stands alone, in
# strict C and in C++, and programs link to the library in both ways.
#
#   test_install.sh BUILD_DIRECTORY

cd "$(dirname "$0")/../.." || exit 1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
n=0 bad=0

# NAME COMMAND...
check() {
	local name=$1
	shift
	n=$((n + 1))
	if "$@" >"$dir/log" 2>&1; then
		echo "ok $n - $name"
	else
		bad=1
		sed 's/^/# /' "$dir/log"
		echo "not ok $n - $name"
	fi
}

echo "KTAP version 1"
check "it installs" make -s B="$1" PREFIX="$dir/usr" install-lib
export PKG_CONFIG_PATH=$dir/usr/lib/pkgconfig
read -ra cflags < <(pkg-config --cflags hcomm-user)
read -ra libs < <(pkg-config --libs hcomm-user)
read -ra private < <(pkg-config --static --libs hcomm-user)
warn=(-Wall -Wextra -Werror "${cflags[@]}" -c -o "$dir/out.o")
for header in "$dir"/usr/include/*/*.h; do
	name=${header#"$dir/usr/include/"}
	echo "#include <$name>" | tee "$dir/x.c" >"$dir/x.cc"
	# a file must have something
	echo "int x;" | tee -a "$dir/x.c" >>"$dir/x.cc"
	check "<$name> in C99" cc -std=c99 -pedantic-errors "${warn[@]}" "$dir/x.c"
	command -v c++ >/dev/null || continue
	check "<$name> in C++11" c++ -std=c++11 "${warn[@]}" "$dir/x.cc"
done
# with sanitizers in the library the program would need them, too
if [[ $1 != *asan ]]; then
	check "shared" cc "${cflags[@]}" tools/examples/first.c "${libs[@]}" -o "$dir/shared"
	check "static" cc "${cflags[@]}" -static tools/examples/first.c "${private[@]}" -o "$dir/static"
fi
check "all of it goes" make -s B="$1" PREFIX="$dir/usr" uninstall-lib
check "nothing is left" test -z "$(find "$dir/usr" ! -type d)"
echo "1..$n"
exit $bad

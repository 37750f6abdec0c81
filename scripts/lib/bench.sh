# shellcheck shell=bash
# Builds programs of benchmarks/ in build/bench. The scripts in the parent folder source this file.

# Prints the output of the build, and ends the script with 1, if it fails.
build_bench() { # <root> <target>
    local build=$1/build/bench
    mkdir -p "$build"
    echo "building the programs in build/bench"
    { cmake -S "$1" -B "$build" --preset bench && cmake --build "$build" --target "$2" -j "$(nproc)"; } \
        >"$build/build.log" 2>&1 || { cat "$build/build.log" >&2; exit 1; }
}

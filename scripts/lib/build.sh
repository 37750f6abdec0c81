# shellcheck shell=bash
# Builds one target in build/PRESET. The scripts in the parent folder source this file.

# Prints the output of the build, and ends the script with 1, if it fails.
build_target() { # <root> <preset> <target>
    local build=$1/build/$2
    mkdir -p "$build"
    echo "building $3 in build/$2"
    { cmake -S "$1" -B "$build" --preset "$2" && cmake --build "$build" --target "$3" -j "$(nproc)"; } \
        >"$build/build.log" 2>&1 || { cat "$build/build.log" >&2; exit 1; }
}

# shellcheck shell=bash
# Installing what a script needs. Sourced by the scripts beside this folder:
#
#   . "$(dirname "$0")/lib/deps.sh"
#   need_packages g++ cmake ninja-build pkg-config
#
# need_packages takes Debian package names; "a|b" means that either will do. When nothing is
# missing it only asks dpkg once. Where it cannot install (no apt-get, or neither root nor sudo)
# it says what is missing and how to get it, and exits 2 before anything was changed.

# The package that holds the same thing elsewhere; prints nothing when there is no separate one.
_deps_translate() { # <dnf|pacman> <debian package>
    case "$1:$2" in
        dnf:g++) echo gcc-c++ ;;
        dnf:ninja-build) echo ninja-build ;;
        dnf:pkg-config) echo pkgconf-pkg-config ;;
        dnf:catch2) echo catch-devel ;;
        dnf:libbenchmark-dev) echo google-benchmark-devel ;;
        dnf:libtbb-dev) echo tbb-devel ;;
        dnf:libasio-dev) echo asio-devel ;;
        dnf:libboost-dev) echo boost-devel ;;
        dnf:libssl-dev) echo openssl-devel ;;
        dnf:libcli11-dev) echo cli11-devel ;;
        dnf:libhwloc-dev) echo hwloc-devel ;;
        dnf:clang-[0-9]*) echo clang ;;
        dnf:clang-tidy-[0-9]* | dnf:clang-format-[0-9]*) echo clang-tools-extra ;;
        dnf:linux-image-*) echo kernel-core ;;
        dnf:busybox-static | pacman:busybox-static) echo busybox ;;
        pacman:linux-image-*) echo linux ;;
        pacman:g++) echo gcc ;;
        pacman:ninja-build) echo ninja ;;
        pacman:pkg-config) echo pkgconf ;;
        pacman:python3) echo python ;;
        pacman:libbenchmark-dev) echo benchmark ;;
        pacman:libtbb-dev) echo onetbb ;;
        pacman:libasio-dev) echo asio ;;
        pacman:libboost-dev) echo boost ;;
        pacman:libssl-dev) echo openssl ;;
        pacman:libcli11-dev) echo cli11 ;;
        pacman:libhwloc-dev) echo hwloc ;;
        pacman:clang-[0-9]* | pacman:clang-tidy-[0-9]* | pacman:clang-format-[0-9]*) echo clang ;;
        *) echo "$2" ;;
    esac
}

_deps_list() { # <dnf|pacman> <debian package>...
    local manager=$1 package
    shift
    for package in "$@"; do _deps_translate "$manager" "$package"; done | sort -u | tr '\n' ' '
}

# Says what is missing and how to install it, and ends the script with 2.
_deps_refuse() { # <reason> <debian package>...
    local reason=$1
    shift
    {
        echo "error: missing packages, and $reason."
        echo "  Debian, Ubuntu:  apt-get install $*"
        echo "  Fedora:          dnf install $(_deps_list dnf "$@")"
        echo "  Arch:            pacman -S $(_deps_list pacman "$@")"
    } >&2
    exit 2
}

# Away from Debian there is no dpkg to ask: look for what the package is there to provide.
_deps_present_elsewhere() { # <debian package>
    local header=
    case $1 in
        g++) command -v g++ >/dev/null || command -v c++ >/dev/null; return ;;
        ninja-build) command -v ninja >/dev/null || command -v ninja-build >/dev/null; return ;;
        clang-tidy-* | clang-format-* | clang-[0-9]*)
            command -v "$1" >/dev/null || command -v "${1%-*}" >/dev/null; return ;;
        busybox-static) command -v busybox >/dev/null; return ;;
        qemu-system-x86) command -v qemu-system-x86_64 >/dev/null; return ;;
        catch2) header=catch2 ;;
        libbenchmark-dev) header=benchmark/benchmark.h ;;
        libtbb-dev) header=tbb ;;
        libasio-dev) header=asio.hpp ;;
        libboost-dev) header=boost/version.hpp ;;
        libssl-dev) header=openssl/evp.h ;;
        libcli11-dev) header=CLI ;;
        libhwloc-dev) header=hwloc.h ;;
        *) command -v "$1" >/dev/null; return ;; # no kernel image either: whoever wants one has looked for it
    esac
    [ -e "/usr/include/$header" ] || [ -e "/usr/local/include/$header" ]
}

need_packages() {
    local wanted present package one found missing=()

    if ! command -v dpkg-query >/dev/null; then
        for package in "$@"; do
            _deps_present_elsewhere "${package%%|*}" || missing+=("${package%%|*}")
        done
        [ ${#missing[@]} -eq 0 ] && return 0
        _deps_refuse "this is not a Debian or Ubuntu system, so they are not installed for you" "${missing[@]}"
    fi

    wanted=("${@//|/$'\n'}")
    # One question for all packages: dpkg-query fails when it does not know one of them, which is
    # no error here (hence the `|| true`), and a package that was removed with its configuration kept is not installed.
    # shellcheck disable=SC2016,SC2086
    present=$(dpkg-query -W -f '${binary:Package} ${Status}\n' $(printf '%s\n' "${wanted[@]}") 2>/dev/null |
        sed -n 's/^\([^ :]*\)[^ ]* install ok installed$/\1/p' || true)
    for package in "$@"; do
        found=
        for one in ${package//|/ }; do
            case $'\n'$present$'\n' in *$'\n'"$one"$'\n'*) found=1 ;; esac
        done
        [ -n "$found" ] || missing+=("${package%%|*}")
    done
    [ ${#missing[@]} -eq 0 ] && return 0

    local as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || _deps_refuse "this is neither root nor is there sudo" "${missing[@]}"
        as_root=(sudo)
    fi
    command -v apt-get >/dev/null || _deps_refuse "there is no apt-get to install them with" "${missing[@]}"

    echo "installing: ${missing[*]}"
    # Quiet when it works; a bare image has no package lists, so a first failure is answered by
    # fetching them.
    # A machine that has just started may be busy with upgrades of its own, which hold the lock.
    local patient=(-o DPkg::Lock::Timeout=300 -o Acquire::Retries=3)
    local install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get "${patient[@]}" install -y -qq
        --no-install-recommends)
    if ! "${install[@]}" "${missing[@]}" >/dev/null 2>&1; then
        "${as_root[@]}" apt-get "${patient[@]}" update -qq || _deps_refuse "apt-get update failed" "${missing[@]}"
        "${install[@]}" "${missing[@]}" >/dev/null || _deps_refuse "apt-get could not install them" "${missing[@]}"
    fi
}

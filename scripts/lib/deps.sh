# shellcheck shell=bash
# Installs the packages that a script needs. The scripts in the parent folder source this file:
#
#   . "$(dirname "$0")/lib/deps.sh"
#   need_packages g++ cmake ninja-build pkg-config
#
# need_packages takes Debian package names; "a|b" means that one of the two is enough. If nothing is missing, it only
# asks dpkg once. If it cannot install packages (no apt-get, or neither root nor sudo), it prints the missing packages
# and the commands that install them, and exits with 2 without any change to the system.

# Prints the name of the corresponding package of another distribution; the Debian name if this list has no other.
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
        dnf:nlohmann-json3-dev) echo json-devel ;;
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
        pacman:python3-pip) echo python-pip ;;
        pacman:libbenchmark-dev) echo benchmark ;;
        pacman:libtbb-dev) echo onetbb ;;
        pacman:libasio-dev) echo asio ;;
        pacman:libboost-dev) echo boost ;;
        pacman:libssl-dev) echo openssl ;;
        pacman:libcli11-dev) echo cli11 ;;
        pacman:nlohmann-json3-dev) echo nlohmann-json ;;
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

# Prints the missing packages and the commands that install them, and ends the script with 2.
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

# Other systems have no dpkg: look for the command or header that the package provides.
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
        nlohmann-json3-dev) header=nlohmann ;;
        libhwloc-dev) header=hwloc.h ;;
        *) command -v "$1" >/dev/null; return ;; # a kernel image counts as missing: its caller has found no kernel
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
    # One query for all packages. dpkg-query fails if it does not know one of them, which is no error here (hence the
    # `|| true`). A removed package whose configuration was kept does not count as installed.
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
        command -v sudo >/dev/null || _deps_refuse "you are not root, and there is no sudo" "${missing[@]}"
        as_root=(sudo)
    fi
    command -v apt-get >/dev/null || _deps_refuse "there is no apt-get to install them with" "${missing[@]}"

    echo "installing: ${missing[*]}"
    # The first attempt prints nothing. A bare image has no package lists, so after a failure fetch them and try again.
    # On a machine that has just started, automatic upgrades may hold the lock: wait for it.
    local patient=(-o DPkg::Lock::Timeout=300 -o Acquire::Retries=3)
    local install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get "${patient[@]}" install -y -qq
        --no-install-recommends)
    if ! "${install[@]}" "${missing[@]}" >/dev/null 2>&1; then
        "${as_root[@]}" apt-get "${patient[@]}" update -qq || _deps_refuse "apt-get update failed" "${missing[@]}"
        "${install[@]}" "${missing[@]}" >/dev/null || _deps_refuse "apt-get could not install them" "${missing[@]}"
    fi
}

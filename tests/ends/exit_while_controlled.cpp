// exits: 0
// says: one socket, none after the end
// exit() removes the control socket that CMWQ wants, in the process whose runtime it is.
#include "temporary_folder.hpp"

#include <cmwq/cmwq.hpp>
#include <cmwq/control.hpp>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <sys/wait.h>
#include <unistd.h>

namespace {

const cmwq_test::temporary_folder folder;

std::ptrdiff_t nr_sockets() { return std::distance(std::filesystem::directory_iterator(folder.path("cmwq")), {}); }

struct report { // made before the runtime, so destroyed after its socket has gone
    ~report() {
        if (::getpid() != owner) ::_exit(0); // the folder is the parent's
        std::puts(nr_sockets() == 0 ? ", none after the end" : ", and a socket after the end");
    }
    const pid_t owner = ::getpid();
} at_the_end;

} // namespace

int main() {
    ::setenv("XDG_RUNTIME_DIR", folder.path("").c_str(), 1);
    ::setenv("CMWQ", "control=1", 1);
    cmwq::workqueue<> q;
    const pid_t child = ::fork();
    if (child == 0) std::exit(0);
    int status = 1;
    if (::waitpid(child, &status, 0) != child || status != 0) return 1;
    if (nr_sockets() == 1) std::printf("one socket");
}

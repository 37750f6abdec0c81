// exits: 0
// says: cmwq: the options trace and flight_recorder need <cmwq/trace.hpp> .*there are no traces
// A program that does not include <cmwq/trace.hpp> has no traces, and says so.
#include <cmwq/cmwq.hpp>

#include <cstdlib>
#include <stdexcept>
#include <unistd.h>

int main() {
    ::dup2(STDOUT_FILENO, STDERR_FILENO);
    ::setenv("CMWQ", "trace=no folder/t.pftrace,flight_recorder=no folder/f.pftrace", 1);
    try {
        cmwq::runtime::global().snapshot_trace("no folder/s.pftrace");
    } catch (const std::logic_error&) {
        return 0;
    }
    return 1;
}

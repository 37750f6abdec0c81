// exits: 0
// says: cmwq: trace or flight_recorder .*<cmwq/trace.hpp>.*cmwq: control .*<cmwq/control.hpp>.*nlohmann-json
// A program that does not include <cmwq/trace.hpp> and <cmwq/control.hpp> does without, and says so.
#include <cmwq/cmwq.hpp>

#include <cstdlib>
#include <stdexcept>
#include <unistd.h>

int main() {
    ::dup2(STDOUT_FILENO, STDERR_FILENO);
    ::setenv("CMWQ", "trace=no folder/t.pftrace,flight_recorder=no folder/f.pftrace,control=1", 1);
    try {
        cmwq::runtime::global().snapshot_trace("no folder/s.pftrace");
    } catch (const std::logic_error&) {
        return 0;
    }
    return 1;
}

// exits: 0
// says: the trace has 2 items
// exit() writes the rest of the trace that CMWQ wants, in the process whose runtime it is.
#include "perfetto_reader.hpp"
#include "temporary_folder.hpp"

#include <cmwq/cmwq.hpp>
#include <cmwq/trace.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace {

const cmwq_test::temporary_folder folder;
const std::string path = folder.path("t.pftrace");

struct report { // made before the runtime, so destroyed after its trace has ended
    ~report() {
        if (::getpid() != owner) ::_exit(0); // the folder is the parent's
        const auto trace = cmwq_test::perfetto_trace::of_file(path);
        std::printf("the trace has %zu items\n", trace.named("queued").size());
    }
    const pid_t owner = ::getpid();
} at_the_end;

} // namespace

int main() {
    ::setenv("CMWQ", ("trace=" + path).c_str(), 1);
    cmwq::workqueue<> q;
    q.post([] {});
    q.flush();
    const pid_t child = ::fork();
    if (child == 0) std::exit(0); // what it wrote would be in the trace a second time
    int status = 1;
    if (::waitpid(child, &status, 0) != child || status != 0) return 1;
    q.post([] {});
    q.flush();
}

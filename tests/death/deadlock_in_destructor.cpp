// expect: cmwq: deadlock: item 0x[0-9a-f]+ [(][^)]+[)] of queue "other" would wait in ~work[(][)] for item 0x[0-9a-f]+ [(][^)]+[)], which runs on queue "q" and waits in flush[(][)] for item 0x[0-9a-f]+
// The destructor of an item cannot throw: it prints the deadlock and waits forever.
#include <cmwq/cmwq.hpp>

#include <cstdlib>
#include <functional>
#include <memory>
#include <string>

using item = cmwq::work<std::function<void()>>;

int main() {
    cmwq::runtime rt{};
    cmwq::workqueue<> q{rt, "q"}, other{rt, "other"};
    std::unique_ptr<item> doomed;
    item destroyer{[&] {
        while (rt.dump().find(" waits in flush() for item ") == std::string::npos) {} // until `doomed` waits
        doomed.reset();
    }};
    cmwq::delayed_work end{[] { std::abort(); }};
    doomed = std::make_unique<item>([&] { destroyer.flush(); });
    other.queue(destroyer);
    q.queue(*doomed);
    cmwq::workqueue<cmwq::unbound> clock{rt, "clock"};
    clock.queue_after(std::chrono::seconds{1}, end);
    other.flush();
}

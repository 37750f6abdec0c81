// expect: cmwq: deadlock: item 0x[0-9a-f]+ [(][^)]+[)] of queue "other" would wait in ~workqueue[(][)] for queue "doomed", whose item 0x[0-9a-f]+ .* waits in flush[(][)] for item 0x[0-9a-f]+
// A queue is destroyed by an item for which an item of the queue waits.
#include <cmwq/cmwq.hpp>

#include <functional>
#include <memory>
#include <string>

using item = cmwq::work<std::function<void()>>;

int main() {
    cmwq::runtime rt{};
    cmwq::workqueue<> other{rt, "other"};
    auto doomed = std::make_unique<cmwq::workqueue<cmwq::unbound>>(rt, "doomed");
    item destroyer{[&] {
        while (rt.dump().find(" waits in flush() for item ") == std::string::npos) {}
        doomed.reset();
    }};
    item waits{[&] { destroyer.flush(); }};
    other.queue(destroyer);
    doomed->queue(waits);
    other.flush();
}

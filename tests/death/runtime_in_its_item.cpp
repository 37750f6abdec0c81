// expect: cmwq: a runtime is destroyed by item 0x[0-9a-f]+ [(][^)]+[)] of queue "inside", which runs on it
#include "case.hpp"

#include <cmwq/cmwq.hpp>

#include <memory>

DEATH_CASE(runtime_in_its_item) {
    auto rt = std::make_unique<cmwq::runtime>();
    cmwq::workqueue<> inside{*rt, "inside"};
    cmwq::work item{[&] { rt.reset(); }};
    inside.queue(item);
    item.flush();
}

// expect: cmwq: a runtime is destroyed before its queue "left over"
#include <cmwq/cmwq.hpp>

#include <memory>

int main() {
    auto rt = std::make_unique<cmwq::runtime>();
    cmwq::workqueue<> queue{*rt, "left over"};
    rt.reset();
}

// expect: does not satisfy cmwq::execution_policy|constraints not satisfied|constraint failure
#include <cmwq/workqueue.hpp>

struct half {
    static constexpr std::string_view name = "half";
    static constexpr unsigned default_max_active = 1;
};

cmwq::workqueue<half> misuse{"q"};

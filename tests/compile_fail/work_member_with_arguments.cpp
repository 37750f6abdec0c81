// expect: member_class
#include <cmwq/workqueue.hpp>

struct owner {
    void run(int) {}
    cmwq::work_member<&owner::run> item{*this};
};

owner misuse;

// expect: member_class
#include <cmwq/cmwq.hpp>

struct owner {
    void run(int) {}
    cmwq::work_member<&owner::run> item{*this};
};

owner misuse;

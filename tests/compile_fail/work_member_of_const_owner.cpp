// expect: const owner|discards qualifiers|drops 'const' qualifier
// A function that changes the owner cannot be reached through a const one.
#include <cmwq/workqueue.hpp>

struct owner {
    void run() {}
};

void misuse(const owner& o) { cmwq::work_member<&owner::run> item{o}; }

// SPDX-License-Identifier: BSL-1.0
//
// A plugin whose items run on queues of the program. It exports many symbols, so that a search takes long.
#include "plugin.hpp"

#include <thread>

// clang-format off
#define ONE(p) int p = 0;
#define TEN(p) ONE(p##0) ONE(p##1) ONE(p##2) ONE(p##3) ONE(p##4) ONE(p##5) ONE(p##6) ONE(p##7) ONE(p##8) ONE(p##9)
#define HUNDRED(p) TEN(p##0) TEN(p##1) TEN(p##2) TEN(p##3) TEN(p##4) TEN(p##5) TEN(p##6) TEN(p##7) TEN(p##8) TEN(p##9)
#define THOUSAND(p) HUNDRED(p##0) HUNDRED(p##1) HUNDRED(p##2) HUNDRED(p##3) HUNDRED(p##4) \
                    HUNDRED(p##5) HUNDRED(p##6) HUNDRED(p##7) HUNDRED(p##8) HUNDRED(p##9)

extern "C" {
THOUSAND(a)
THOUSAND(b)
THOUSAND(c)
THOUSAND(d)
THOUSAND(e)
THOUSAND(f)
THOUSAND(g)
THOUSAND(h)
// clang-format on

cmwq::work_base* make() {
    return new cmwq::work<void (*)()>{[] {
        for (int i = 0; i < 100; ++i) std::this_thread::yield();
    }};
}
void destroy(cmwq::work_base* w) { delete static_cast<cmwq::work<void (*)()>*>(w); }
}

// expect: nodiscard
// Code that does not need the result uses post().
#include <cmwq/cmwq.hpp>

void misuse(cmwq::workqueue<>& queue) {
    queue.async([] { return 42; });
}

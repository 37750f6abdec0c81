// expect: nodiscard
// Whoever does not want the result uses post().
#include <cmwq/cmwq.hpp>

void misuse(cmwq::workqueue<>& queue) {
    queue.async([] { return 42; });
}

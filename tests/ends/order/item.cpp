#include "parts.hpp"

cmwq::delayed_work<speaks> static_item{speaks{}};

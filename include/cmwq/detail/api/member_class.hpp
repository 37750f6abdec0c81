// SPDX-License-Identifier: BSL-1.0
//
// member_class: the class of a member function, const if the function is.
#pragma once

#include <cmwq/detail/base/config.hpp>

namespace cmwq { inline namespace CMWQ_NS { namespace detail {

template <class M>
struct member_class;
template <class R, class C>
struct member_class<R (C::*)()> {
    using type = C;
};
template <class R, class C>
struct member_class<R (C::*)() noexcept> {
    using type = C;
};
template <class R, class C>
struct member_class<R (C::*)()&> {
    using type = C;
};
template <class R, class C>
struct member_class<R (C::*)() & noexcept> {
    using type = C;
};
template <class R, class C>
struct member_class<R (C::*)() const> {
    using type = const C;
};
template <class R, class C>
struct member_class<R (C::*)() const noexcept> {
    using type = const C;
};

}}} // namespace cmwq::CMWQ_NS::detail

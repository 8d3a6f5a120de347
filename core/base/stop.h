// What long work asks on its way: is its result still wanted?
#pragma once

namespace trainyard {

/// Made from a std::stop_token, which it refers to and which must outlive it. It is no token itself
/// because <stop_token> is 50,000 lines in each of the 460 files that read lower.h.
class Stop {
 public:
  constexpr Stop() = default;  // never asked for
  template <class Token>
    requires requires(const Token& token) { token.stop_requested(); }
  constexpr Stop(const Token& token)
      : token_(&token),
        requested_([](const void* t) { return static_cast<const Token*>(t)->stop_requested(); }) {}
  template <class Token>
  Stop(const Token&&) = delete;  // it would be gone when it is asked

  bool requested() const { return requested_ != nullptr && requested_(token_); }

 private:
  const void* token_ = nullptr;
  bool (*requested_)(const void*) = nullptr;
};

}  // namespace trainyard

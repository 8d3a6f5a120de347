// Long work asks a Stop from time to time whether its result is still wanted.
#pragma once

namespace trainyard {

/// A Stop is made from a std::stop_token, to which it refers and which must outlive it. The token
/// itself is not passed because <stop_token> adds 50,000 lines to each of the 460 files that
/// include lower.h.
class Stop {
 public:
  constexpr Stop() = default;  // requested() is then always false
  template <class Token>
    requires requires(const Token& token) { token.stop_requested(); }
  constexpr Stop(const Token& token)
      : token_(&token),
        requested_([](const void* t) { return static_cast<const Token*>(t)->stop_requested(); }) {}
  template <class Token>
  Stop(const Token&&) = delete;  // a temporary would be gone by the time of requested()

  bool requested() const { return requested_ != nullptr && requested_(token_); }

 private:
  const void* token_ = nullptr;
  bool (*requested_)(const void*) = nullptr;
};

}  // namespace trainyard

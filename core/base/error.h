// This file defines how failures are reported. An Error ends the current operation and is caught
// only at the composition root. Diagnostics list everything that is wrong with something, so that
// an editor can show it all at once.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trainyard {

/// A Place says where something went wrong, in the user's own words: "plan.json#/stages/2", "--set
/// tp", "program d3/compute:17".
struct Place {
  std::string text;
  friend bool operator==(const Place&, const Place&) = default;
};

class Error : public std::runtime_error {
 public:
  enum class Kind { InvalidInput, Unsupported, OutOfMemory, Cancelled, Io, Internal };

  /// The message is one sentence: what was expected, what was found, and the nearest valid
  /// alternative where there is one.
  Error(Kind, const std::string& message, Place = {});

  Kind kind() const noexcept { return kind_; }
  const Place& place() const noexcept { return place_; }
  const std::vector<std::string>& context() const noexcept { return context_; }  // innermost first
  void add_context(std::string doing) { context_.push_back(std::move(doing)); }

 private:
  Kind kind_;
  Place place_;
  std::vector<std::string> context_;
};

/// Throws Error{InvalidInput}. This is the short way to reject a user's input; place says where in
/// it the fault is.
[[noreturn]] void refuse(const std::string& place, const std::string& sentence);
[[noreturn]] void refuse(const std::string& sentence);

/// Returns "PLACE: message (while innermost, while outermost)", the only form in which an Error is
/// shown to a person.
std::string describe(const Error&);

/// Runs f. An Error that leaves f gets "doing" (for example "lowering stage 3") as context.
template <class F>
decltype(auto) with_context(std::string_view doing, F&& f) {
  try {
    return std::forward<F>(f)();
  } catch (Error& error) {
    error.add_context(std::string(doing));
    throw;
  }
}

struct Diagnostic {
  enum class Severity { Note, Warning, Error } severity = Severity::Error;
  std::string message;  // one sentence
  Place place;
  std::string fix;  // what to do about it: a "--set" argument where one exists; empty when there is
                    // no advice
};
using Diagnostics = std::vector<Diagnostic>;

bool has_errors(const Diagnostics&);
/// Throws Error{InvalidInput} with every error of the list in one message; returns normally when
/// the list has no error.
void throw_if_errors(const Diagnostics&);

}  // namespace trainyard

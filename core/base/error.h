// How things go wrong. An Error stops what is being done and is caught at the composition root
// only; Diagnostics are all that is wrong with something, so that an editor can show them at once.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trainyard {

/// Where in the user's own words it went wrong: "plan.json#/stages/2", "--set tp", "program
/// d3/compute:17".
struct Place {
  std::string text;
  friend bool operator==(const Place&, const Place&) = default;
};

class Error : public std::runtime_error {
 public:
  enum class Kind { InvalidInput, Unsupported, OutOfMemory, Cancelled, Io, Internal };

  /// message is one sentence: what was expected, what was found, and the nearest right thing where
  /// there is one.
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

/// Throws Error{InvalidInput}: the short way to turn down what a user gave, with where it stands.
[[noreturn]] void refuse(const std::string& place, const std::string& sentence);
[[noreturn]] void refuse(const std::string& sentence);

/// "PLACE: message (while innermost, while outermost)", the one form in which a person sees an
/// Error.
std::string describe(const Error&);

/// Runs f; an Error that leaves it gains "doing" (as in "lowering stage 3") as context.
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
  std::string fix;  // what to do about it, empty when there is nothing to say; a "--set" argument
                    // where one exists
};
using Diagnostics = std::vector<Diagnostic>;

bool has_errors(const Diagnostics&);
/// Throws Error{InvalidInput} with every error of the list in one message; returns when there is
/// none.
void throw_if_errors(const Diagnostics&);

}  // namespace trainyard

// This file reads and writes what several files of settings have in common: numbers, words and
// parameters of methods.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/methods/catalogue.h"
#include "core/plan/plan.h"

namespace trainyard {

/// Throws Error{InvalidInput} with what was expected and found at a place.
[[noreturn]] void refuse_value(const Place&, const std::string& expected, std::string_view found);

/// Returns a whole number in [low, high]; throws as refuse_value() for anything else.
std::int64_t whole_number(std::string_view value, std::int64_t low, std::int64_t high,
                          const Place&);
bool on_off(std::string_view value, const Place&);
std::string on_off(bool value);

/// Chooses a method, if the plan does not, and sets one of its parameters.
void set_param(Plan&, std::string_view method_name, std::string_view param, std::string_view value,
               const Place&);
/// Returns a parameter or its default; "" where the plan does not choose the method.
std::string read_param(const Plan&, std::string_view method_name, std::string_view param);

/// Sets a parameter of a method that a plan does not mention while its value is none.
void set_optional(Plan&, std::string_view method_name, std::string_view param,
                  std::string_view value, std::string_view none, const Place&);
/// Returns none where the plan does not choose the method, or leaves the parameter empty.
std::string read_optional(const Plan&, std::string_view method_name, std::string_view param,
                          std::string_view none);

std::vector<std::string_view> names_on(MethodAxis);
/// Chooses the method of that name in place of any other on its axis.
void choose_on(Plan&, MethodAxis, std::string_view value, const Place&);

/// Returns "a, b or c".
std::string list_of(const std::vector<std::string_view>& words);
/// Throws Error{InvalidInput} for a word that is none of them, with the nearest.
void expect_word(std::string_view value, const std::vector<std::string_view>& words, const Place&);

}  // namespace trainyard

// Settings are the keys of --set: each names one field of a plan, with the spellings that other
// frameworks use for it. The window's strategy panel, the command line and the verdict's fixes all
// change plans through these.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/methods/settings/setting.h"

namespace trainyard {

std::span<const Setting> settings();
const Setting* find_setting(std::string_view key_or_alias);
/// Returns whether a key is a parameter of a schedule or precision, prefixed by the method's name:
/// "tick-tock.offset", "fp8.scaling". Such a key is no Setting, because it exists only while its
/// method is chosen; apply_setting() and setting() handle it too.
bool is_choice_param(std::string_view key);
/// Sets the parameter; the key must satisfy is_choice_param(). Throws Error{InvalidInput} for an
/// unknown parameter (with the nearest), a method that the plan does not choose, or a wrong value.
void apply_choice_param(Plan&, std::string_view key, std::string_view value, const Place&);
/// Returns "" where the plan does not choose that method.
std::string choice_param(const Plan&, std::string_view key);

/// Applies a key and a value, as "tp" and "8". Throws Error{InvalidInput} for an unknown key (with
/// the nearest) or a wrong value (expected, found).
void apply_setting(Plan&, std::string_view key, std::string_view value, const Place& = {"--set"});
/// Applies "tp=8". Throws as the function above, and for text without "=".
void apply_setting(Plan&, std::string_view assignment, const Place& = {"--set"});
/// Returns the plan's value for the key, as apply_setting() would read it.
std::string setting(const Plan&, std::string_view key);

/// Returns the plan with every default written out: dp, batch, sequence, each applicable method
/// with all its parameters. Throws Error{InvalidInput} when the degrees do not divide the devices.
Plan complete(const Scenario&);

/// Returns the model as the scenario's plan, which must be complete, trains it: with the adapters
/// and the frozen parts that its methods derive. The scenario's model may be as the user gave it or
/// derived before, by this plan or by another. Throws Error{InvalidInput} where the model cannot be
/// trained so.
Model trained_model(const Scenario&);
/// Returns whether trained_model() is another model than the scenario's, so that a search need not
/// copy that for every plan.
bool derives_model(const Scenario&);

}  // namespace trainyard

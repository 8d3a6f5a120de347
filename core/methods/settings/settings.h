// Settings are the keys of --set: each names one field of a plan, with the spellings other
// frameworks have for it. The window's strategy panel, the command line and the verdict's fixes all
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
/// Whether a key is a parameter of a schedule or precision by its name: "tick-tock.offset",
/// "fp8.scaling". Such a key is no Setting, because it is there only while its method is chosen;
/// apply_setting() and setting() know it.
bool is_choice_param(std::string_view key);
/// The key must be one. Throws Error{InvalidInput}: no such parameter (nearest), its method is not
/// the plan's, a wrong value.
void apply_choice_param(Plan&, std::string_view key, std::string_view value, const Place&);
/// "" where the plan does not choose that method.
std::string choice_param(const Plan&, std::string_view key);

/// Applies "tp", "8". Throws Error{InvalidInput}: unknown key (nearest), wrong value (expected,
/// found).
void apply_setting(Plan&, std::string_view key, std::string_view value, const Place& = {"--set"});
/// Applies "tp=8". The same, and a word without "=".
void apply_setting(Plan&, std::string_view assignment, const Place& = {"--set"});
/// The value that the plan has for the key, as apply_setting would read it.
std::string setting(const Plan&, std::string_view key);

/// The plan with every default written out: dp, batch, sequence, each applicable method with all
/// its parameters. Throws Error{InvalidInput} when the degrees do not divide the devices.
Plan complete(const Scenario&);

}  // namespace trainyard

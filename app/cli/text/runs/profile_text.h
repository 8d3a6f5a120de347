// A profile that corrects itself as text and as a document.
#pragma once

#include <string>

#include "core/io/json/json.h"
#include "core/timeline/span_profile.h"

namespace trainyard {

std::string profile_text(const ProfileStudy&);
/// A trainyard/span-profile document.
std::string profile_document(const ProfileStudy&);
Json span_profile_schema();

}  // namespace trainyard

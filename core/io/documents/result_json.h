// This file writes a Result as the document trainyard/result@1 with plain SI numbers; what does not
// apply is absent.
#pragma once

#include <string>

#include "core/io/json/fields.h"
#include "core/result/result.h"

namespace trainyard {

/// Returns the form of a number with its range.
template <class T, class V>
Form<Banded<T>> band(const Form<V>& number) {
  return object(Fields<Banded<T>>{{"value", &Banded<T>::value, number},
                                  {"low", &Banded<T>::low, number},
                                  {"high", &Banded<T>::high, number}});
}

/// Returns the fields of what a rule says of a timeline or a run.
Fields<FiredRule> fired_rule_fields();

/// What a Result does not hold itself is calculated, so the document is only written.
const Fields<Result>& result_fields();
Json to_json(const Result&);
/// Returns the whole document as simulate --json prints it.
std::string result_document(const Result&);

}  // namespace trainyard

// A process that edits a document until it is killed, for the tests of recovery.
#pragma once

#include <QString>

namespace trainyard {

/// The folder of its journal; if set in the environment, it turns a test program into an editor.
inline constexpr const char* kEditorFolder = "TRAINYARD_EDITOR_FOLDER";

/// Sets global-batch to 1, 2, 3 ... and prints each number when its edit is confirmed.
int edit_until_killed(const QString& folder);

}  // namespace trainyard

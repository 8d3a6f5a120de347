#include "app/desktop/shell/commands.h"

#include <deque>
#include <string>
#include <vector>

#include "app/desktop/shell/perspective.h"
#include "core/lesson/lesson_text.h"

namespace trainyard {
namespace {

constexpr Command kCommands[] = {
    {"file.new", "File", "New project", "Ctrl+N", "Starts an empty project."},
    {"file.open", "File", "Open…", "Ctrl+O",
     "Opens a project, a model's config.json, a cluster or a plan."},
    {"file.save", "File", "Save", "Ctrl+S", "Saves the project."},
    {"file.save-as", "File", "Save as…", "Ctrl+Shift+S", "Saves the project under another name."},
    {"file.import", "File", "Import pipeline…", "",
     "Reads PyTorch's pipeline CSV or Megatron's pipeline layout into the plan."},
    {"file.check-report", "File", "Check a report…", "",
     "Lists what a benchmark report leaves out or bends, with what to do about it."},
    {"file.quit", "File", "Quit", "Ctrl+Q", "Closes the window."},
    {"edit.undo", "Edit", "Undo", "Ctrl+Z", "Undoes the last change of the project."},
    {"edit.redo", "Edit", "Redo", "Ctrl+Shift+Z", "Redoes the last undone change."},
    {"edit.history", "Edit", "History…", "Ctrl+Alt+Z",
     "Lists every change since the project was opened; choosing one goes back or forward to it."},
    {"edit.settings", "Edit", "Settings…", "Ctrl+,", "Theme, wheel, numbers, renderer and keys."},
    {"view.left", "View", "Project panel", "Ctrl+B", "Shows or hides the project.", true},
    {"view.right", "View", "Strategy and inspector", "Ctrl+Shift+B",
     "Shows or hides the right panels.", true},
    {"view.bottom", "View", "Statistics and problems", "Ctrl+J", "Shows or hides the bottom panel.",
     true},
    {"view.table", "View", "Show as table", "Ctrl+T",
     "Shows the rows behind the view, to sort, to walk through and to copy.", true},
    {"view.find", "View", "Find spans…", "Ctrl+F",
     "Finds spans by words such as cat:comm dev:3 name:allreduce >5ms."},
    {"view.find-next", "View", "Next match", "F3", "Selects the next span that was found."},
    {"view.find-previous", "View", "Previous match", "Shift+F3", "Selects the span found before."},
    {"view.go-to", "View", "Go to time…", "Ctrl+G", "Brings an instant of the run into sight."},
    {"view.back", "View", "Back", "Ctrl+[", "Shows what was shown before."},
    {"view.forward", "View", "Forward", "Ctrl+]", "Shows what was shown after that."},
    {"view.mark", "View", "Mark", "",
     "Marks the range or the cursor in the plan's run; again takes the mark away."},
    {"view.note", "View", "Mark with a note…", "", "Marks the range or the cursor under a name."},
    {"view.path", "View", "Critical path", "",
     "Draws the chain of work that sets the length of the step.", true},
    {"view.stack-category", "View", "Stack memory by category", "",
     "Takes the large wave apart by what bytes are held for.", true},
    {"view.stack-layer", "View", "Stack memory by layer", "",
     "Takes the large wave apart by layer, or by the tensors that layers keep.", true},
    {"view.stack-microbatch", "View", "Stack memory by microbatch", "",
     "Takes the large wave apart by microbatch.", true},
    {"view.stack-wave", "View", "Stack memory by wave", "",
     "Takes the large wave apart by the waves of the schedule.", true},
    {"view.phase", "View", "Align waves by phase", "",
     "Draws the waves over one another within one cycle, with their sum.", true},
    {"view.every-rank", "View", "Fit all ranks", "",
     "Makes the timeline's rows as low as it takes to see all ranks at once.", true},
    {"view.close-tab", "View", "Close tab", "Ctrl+W", "Hides the tab that is shown."},
    {"view.reopen-tab", "View", "Reopen closed tab", "Ctrl+Shift+T",
     "Shows the tab again that was closed last."},
    {"view.next-panel", "View", "Next panel", "F6", "Puts the focus into the next panel."},
    {"view.previous-panel", "View", "Previous panel", "Shift+F6",
     "Puts the focus into the panel before."},
    {"view.full-screen", "View", "Full screen", "F11", "The window takes the whole screen.", true},
    {"view.presentation", "View", "Presentation", "Ctrl+F11",
     "Text and lines one and a half times as large, for a projector.", true},
    {"view.reset", "View", "Reset layout", "", "Puts every panel back in its place."},
    {"view.dark", "View", "Dark theme", "", "Switches between the dark and the light theme.", true},
    {"view.gpu", "View", "Try GPU again", "", "Asks for the Vulkan renderer once more."},
    {"model.choose", "Model", "Choose a model…", "",
     "Opens a published model by its name, or a new one to build."},
    {"model.add", "Model", "Add to the model…", "Ins",
     "Puts a building block behind what is chosen in the outline."},
    {"model.remove", "Model", "Remove from the model", "Del",
     "Takes the chosen block or node out; what read it then reads what it read."},
    {"model.duplicate", "Model", "Duplicate in the model", "Ctrl+Shift+D",
     "Adds the chosen block or node once more, behind itself."},
    {"model.up", "Model", "Move up in the model", "Ctrl+Up",
     "Moves the chosen block or node towards the input."},
    {"model.down", "Model", "Move down in the model", "Ctrl+Down",
     "Moves the chosen block or node towards the output."},
    {"model.tables", "Model", "Tables as tensor trains…", "",
     "Shows what ranks and hot rows do to the embedding tables of the open plan."},
    {"model.split", "Model", "Edit the first layer separately", "",
     "Makes the first of repeated layers a block of its own, to be edited alone."},
    {"plan.duplicate", "Plan", "Duplicate plan", "Ctrl+D",
     "Adds a copy of the plan, to change it beside the first."},
    {"plan.rename", "Plan", "Rename plan…", "F2", "Gives the plan another name."},
    {"plan.remove", "Plan", "Remove plan", "", "Removes the plan from the project."},
    {"plan.fix", "Plan", "Apply best change", "Ctrl+Return",
     "Applies the change that the verdict offers."},
    {"plan.own-order", "Plan", "Back to the schedule's own order", "",
     "Drops the edits of the order."},
    {"plan.search", "Plan", "Search for plans", "F7",
     "Prices every plan of the space that the tab Plans shows."},
    {"plan.search-stop", "Plan", "Stop the search", "Shift+F7", "Keeps what was found so far."},
    {"plan.open-found", "Plan", "Open the chosen plan", "Ctrl+Shift+Return",
     "Opens the selected search result as the plan."},
    {"plan.why", "Plan", "Why not my plan?", "Ctrl+Shift+W",
     "Says why the open plan is not the best of those searched."},
    {"plan.sweep", "Plan", "Sweep", "F9",
     "Makes one table over the models, clusters, prices and settings that the tab Sweep names."},
    {"plan.sweep-stop", "Plan", "Stop the sweep", "Shift+F9", "Keeps the rows that are done."},
    {"plan.sweep-open", "Plan", "Open the plan of the chosen row", "",
     "Makes the model, cluster and plan of the sweep's chosen row those of the project."},
    {"plan.tune", "Plan", "Tune", "F4",
     "Tries the settings that the tab Tune names, cheap trials first."},
    {"plan.tune-stop", "Plan", "Stop tuning", "Shift+F4", "Keeps the trials that are done."},
    {"plan.tune-apply", "Plan", "Apply the tuned settings", "",
     "Gives the open plan the settings of the tuning's chosen trial, or of its best."},
    {"simulate.run", "Simulate", "Simulate", "F5", "Runs the plan in the simulator."},
    {"simulate.stop", "Simulate", "Stop", "Shift+F5", "Stops the simulation that is under way."},
    {"simulate.auto", "Simulate", "Simulate after each change", "", "Runs the simulator by itself.",
     true},
    {"run.start", "Run", "Train on this machine…", "Ctrl+R",
     "Trains the plan for real on virtual devices, live over what was predicted."},
    {"run.stop", "Run", "Stop training", "Ctrl+Shift+R", "Ends after the step that is under way."},
    {"run.pause", "Run", "Pause training", "F8",
     "Waits after the step that is under way; again goes on with the same bits.", true},
    {"run.accept", "Run", "Accept what the run measured", "",
     "The project's predictions go by the run's own kernels from now on."},
    {"compare.swap", "Compare", "Swap A and B", "", "A becomes B and B becomes A."},
    {"compare.link", "Compare", "Link axes", "", "One time axis for both results.", true},
    {"compare.deltas", "Compare", "Deltas only", "",
     "What B holds more or less than A, in place of the lanes.", true},
    {"compare.largest", "Compare", "Go to the largest difference", "",
     "Shows in both timelines where the largest cause of the difference shows most."},
    {"compare.adopt", "Compare", "Adopt B", "", "Makes the compared plan B the open one."},
    {"compare.export", "Compare", "Export comparison…", "",
     "Saves the comparison as PNG, SVG, CSV or one HTML page."},
    {"compare.runs", "Compare", "Past runs", "Ctrl+Shift+L",
     "Lists every run of this machine, with notes, tags and search."},
    {"calibrate.measure", "Calibrate", "Measure this machine", "",
     "Runs kernels here for the time that you agree to, beside what is predicted of them."},
    {"calibrate.probe", "Calibrate", "Probe one op", "",
     "Measures how the time of a kernel steps with one of its sizes, once you agree to measure."},
    {"calibrate.branches", "Calibrate", "Measure branches", "",
     "Measures what layers gain if independent operators run beside each other on this machine."},
    {"calibrate.branches-stop", "Calibrate", "Stop measuring branches", "",
     "Ends the measurement of branches without a result."},
    {"calibrate.threads", "Calibrate", "Measure threads that share weights", "",
     "Measures what threads of this machine gain that train one model without locks."},
    {"calibrate.threads-stop", "Calibrate", "Stop measuring threads", "",
     "Ends the measurement of threads without a result."},
    {"calibrate.sharpness", "Calibrate", "Measure sharpness", "",
     "Measures how sharply the open plan's loss bends, and says which rates that leaves stable."},
    {"calibrate.sharpness-stop", "Calibrate", "Stop measuring sharpness", "",
     "Ends the measurement of sharpness, and keeps what it has."},
    {"calibrate.descent", "Calibrate", "Descend in few bits", "",
     "Shows what the bits of weights do to the error of a descent on least squares."},
    {"calibrate.descent-stop", "Calibrate", "Stop the descents", "",
     "Ends the descents in few bits without a result."},
    {"calibrate.gate", "Calibrate", "Ask the gate of quality", "",
     "Holds models that lost weights or bits against a checkpoint, on clean and corrupted "
     "samples."},
    {"calibrate.gate-stop", "Calibrate", "Stop the gate of quality", "",
     "Ends the questions of the gate without a result."},
    {"calibrate.profile", "Calibrate", "Profile a training", "",
     "Shows where the time of a training here goes, without what recording it takes."},
    {"calibrate.profile-stop", "Calibrate", "Stop profiling", "",
     "Ends the profile after the round in which it is, or without a result."},
    {"calibrate.stop", "Calibrate", "Stop measuring", "",
     "Ends early and keeps what was measured."},
    {"calibrate.open", "Calibrate", "Open calibration…", "",
     "Shows what was measured before, or parameters fitted to rows."},
    {"calibrate.recording", "Calibrate", "Make prices of the recording", "",
     "Takes the opened recording for a run of the open plan, to price other plans by it."},
    {"calibrate.snapshot", "Calibrate", "Add a memory snapshot to the recording…", "",
     "Says what the recorded run's allocator reserved, for prices that are made of the recording."},
    {"calibrate.save", "Calibrate", "Save calibration…", "",
     "Writes what was measured as a file, also for --calibration."},
    {"calibrate.accept", "Calibrate", "Accept calibration", "",
     "The project's predictions use what is shown from now on."},
    {"calibrate.remove", "Calibrate", "Remove calibration", "",
     "The project's predictions use the built-in efficiencies again."},
    {"export.plan", "Export", "Export plan…", "Ctrl+E",
     "Shows what other programs would be given, to save or to copy."},
    {"export.view", "Export", "Export view…", "Ctrl+Shift+E",
     "Saves the view as PNG, SVG or CSV, and a sweep or a tuning as JSON too."},
    {"export.report", "Export", "Export report…", "",
     "Saves the verdict with its figures, pictures and tables as one page for a browser."},
    {"export.trace", "Export", "Export trace…", "", "Saves the timeline for Perfetto and Chrome."},
    {"export.pytorch-csv", "Export", "Export PyTorch pipeline CSV…", "",
     "Saves the order for torch.distributed.pipelining."},
    {"export.megatron-layout", "Export", "Export Megatron pipeline layout…", "",
     "Saves the split of layers for --pipeline-model-parallel-layout."},
    {"learn.next", "Learn", "Next step", "",
     "Goes to the lesson's next step; also Page Down there."},
    {"learn.back", "Learn", "Step before", "", "Goes a step back; also Page Up in the lesson."},
    {"learn.answer", "Learn", "Lock in the answer", "",
     "Takes the prediction and reveals what it is, or looks at your own plan."},
    {"learn.run", "Learn", "Train the step's run", "",
     "Trains on this machine what the step asks for, where it asks for a run."},
    {"learn.reset", "Learn", "Reset step", "", "The lesson's step as it began."},
    {"learn.projector", "Learn", "Projector size", "", "Larger text and pictures in lessons."},
    {"learn.save", "Learn", "Save answers…", "", "Writes your answers for the lecturer."},
    {"learn.class", "Learn", "Class answers…", "",
     "Reads a folder of answers and shows them beside the truth."},
    {"help.commands", "Help", "Search commands…", "Ctrl+K;Ctrl+Shift+P",
     "Finds and runs a command."},
    {"help.focus", "Help", "What is this?", "F1", "Says what has the focus and what it is for."},
    {"help.keys", "Help", "Keyboard shortcuts", "Shift+F1;Ctrl+?", "Lists every key."},
    {"help.about", "Help", "About Trainyard", "", "Says what this is and what draws it."},
};

constexpr CanvasKey kCanvasKeys[] = {
    {"W / S, + / −, Ctrl+wheel", "zoom in and out at the pointer"},
    {"A / D, Shift+wheel, middle drag", "pan"},
    {"Wheel", "scroll rows"},
    {"Home", "show the whole step"},
    {"F", "fit the selection or the range"},
    {"R", "rows low enough to see every rank, and as high as before"},
    {"Enter", "open the plan that is chosen"},
    {"Drag", "choose a range; it snaps to the ends of spans, Alt lets it go anywhere"},
    {"Double click", "fit the span"},
    {"P", "next peak of memory, and what is alive there"},
    {"B", "next bubble"},
    {"C / Shift+C", "along the critical path, and back"},
    {"[ / ]", "span of the same name before and after"},
    {", / .", "the same work on the device before and after"},
    {"M / Shift+M", "mark the range or the cursor, or take the mark away; with a note"},
    {"/", "find spans"},
    {"Left / Right",
     "span before and after in its row; plan before and after on the front; combination beside"},
    {"Up / Down", "row above and below"},
    {"Alt+Left / Alt+Right", "move the chosen action of the order, or the chosen stage boundary"},
    {"X / L / D", "in a comparison: swap A and B, link axes, deltas only"},
    {"Esc", "clear range, selection, critical path and what is pinned"},
};

// Keeps text for the life of the program, because the table stores pointers.
const char* kept(const QString& text) {
  static std::deque<std::string> texts;
  return texts.emplace_back(text.toStdString()).c_str();
}

void add_perspectives(std::vector<Command>& all) {
  for (const Perspective& p : perspectives())
    all.push_back({kept(QString("view.") + p.id), "View", p.title, p.key, p.help});
  for (const Perspective& p : perspectives())
    for (const QString tab : p.tabs)
      all.push_back({kept("view." + tab), "View/Tabs", kept(tab.left(1).toUpper() + tab.mid(1)), "",
                     kept(QString("Shows the tab %1 of %2.").arg(tab, p.title))});
}

QString words(const std::string& text) { return QString::fromStdString(text); }

void add_lessons(std::vector<Command>& all) {
  for (const Lesson& lesson : shipped_lessons())
    all.push_back({kept(lesson_command(lesson)), "Learn/Lessons",
                   kept(QString("Lesson %1: %2").arg(lesson.number).arg(words(lesson.title))), "",
                   kept(words(lesson.goal))});
}

// Perspectives and their tabs come before the first command of View.
std::vector<Command> every_command() {
  std::vector<Command> all;
  bool viewed = false;
  for (const Command& command : kCommands) {
    if (!viewed && std::string_view(command.menu) == "View") {
      add_perspectives(all);
      viewed = true;
    }
    all.push_back(command);
  }
  add_lessons(all);
  return all;
}

}  // namespace

std::span<const Command> commands() {
  static const std::vector<Command> all = every_command();
  return all;
}
std::span<const CanvasKey> canvas_keys() { return kCanvasKeys; }

}  // namespace trainyard

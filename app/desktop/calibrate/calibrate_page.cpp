#include "app/desktop/calibrate/calibrate_page.h"

#include "app/desktop/analyse/links_page.h"
#include "app/desktop/analyse/recorded_page.h"
#include "app/desktop/analyse/snapshot_page.h"
#include "app/desktop/calibrate/kernels_page.h"
#include "app/desktop/calibrate/machine_page.h"
#include "app/desktop/calibrate/profile_page.h"
#include "app/desktop/calibrate/synchrony_page.h"
#include "app/desktop/compare/gallery_page.h"
#include "app/desktop/study/branches_page.h"
#include "app/desktop/study/descent_page.h"
#include "app/desktop/study/gate_page.h"
#include "app/desktop/study/sharpness_page.h"

namespace trainyard {

CalibratePage::CalibratePage(Document& document, Published& published, Session& session,
                             QWidget* parent)
    : TabPage("Measurements", parent) {
  add("Published", new GalleryPage(document, published));
  auto* machine = new MachinePage(document, session);
  add("Machine", machine);
  auto* recorded = new RecordedPage(session);
  add("Recorded", recorded);
  add("Kernels", new KernelsPage(document, session, *recorded, machine->measurement()));
  add("Snapshot", new SnapshotPage(session));
  add("Links", new LinksPage);
  add("Branches", new BranchesPage(document));
  add("Synchrony", new SynchronyPage(document));
  add("Sharpness", new SharpnessPage(document));
  add("Descent", new DescentPage(document));
  add("Gate", new GatePage(document));
  add("Profile", new ProfilePage(document));
}

}  // namespace trainyard

import { auditRoutes } from '../audit/rest.ts'
import { badgeBinaries } from '../badges/binary.ts'
import { docsBinaries } from '../docs/binary.ts'
import { feedBinaries } from '../feeds/binary.ts'
import { downloadRoutes } from '../downloads/rest.ts'
import { healthRoutes } from '../health/rest.ts'
import { inviteRoutes } from '../invites/rest.ts'
import { legalRoutes } from '../legal/rest.ts'
import { likeRoutes } from '../likes/rest.ts'
import { nameRoutes } from '../names/rest.ts'
import { oauthRoutes } from '../oauth/rest.ts'
import { packageAdminRoutes } from '../packages/administration/rest.ts'
import { packageBinaries } from '../packages/listing/binary.ts'
import { packagePublisherRoutes } from '../packages/publisher/rest.ts'
import { packageRoutes } from '../packages/rest.ts'
import { publisherRoutes } from '../publishers/rest.ts'
import { scoringAdminRoutes } from '../scoring/admin-rest.ts'
import { scoreRoutes } from '../scoring/rest.ts'
import { searchRoutes } from '../search/rest.ts'
import { sdkRoutes } from '../sdks/rest.ts'
import { sessionRoutes } from '../sessions/rest.ts'
import { setupRoutes } from '../setup/rest.ts'
import { statsRoutes } from '../stats/rest.ts'
import { tokenRoutes } from '../tokens/rest.ts'
import { uploadRoutes } from '../uploads/rest.ts'
import { userRoutes } from '../accounts/rest.ts'
import { visibilityRoutes } from '../visibility/rest.ts'
import type { BinaryRoute, Route } from './route.ts'

/** The whole REST contract, in one list. */
export const routes: readonly (Route | BinaryRoute)[] = [
  ...healthRoutes,
  ...setupRoutes,
  ...sessionRoutes,
  ...userRoutes,
  ...inviteRoutes,
  ...tokenRoutes,
  ...oauthRoutes,
  ...auditRoutes,
  ...packageBinaries,
  ...packageRoutes,
  ...packageAdminRoutes,
  ...nameRoutes,
  ...publisherRoutes,
  ...packagePublisherRoutes,
  ...feedBinaries,
  ...badgeBinaries,
  ...docsBinaries,
  ...searchRoutes,
  ...downloadRoutes,
  ...likeRoutes,
  ...scoreRoutes,
  ...scoringAdminRoutes,
  ...uploadRoutes,
  ...legalRoutes,
  ...statsRoutes,
  ...visibilityRoutes,
  ...sdkRoutes,
]

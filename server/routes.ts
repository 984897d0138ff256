import { auditRoutes } from './audit/rest.ts'
import { badgeBinaries } from './badges/binary.ts'
import { docsBinaries } from './docs/binary.ts'
import { archiveBinaries } from './downloads/binary.ts'
import { feedBinaries } from './feeds/binary.ts'
import { downloadRoutes } from './downloads/rest.ts'
import { healthRoutes } from './health/rest.ts'
import { inviteRoutes } from './invites/rest.ts'
import { legalRoutes } from './legal/rest.ts'
import { likeRoutes } from './likes/rest.ts'
import { nameRoutes } from './names/rest.ts'
import { oauthRoutes } from './oauth/rest.ts'
import { packageAdminRoutes } from './packages/administration/rest.ts'
import { packageBinaries } from './packages/listing/binary.ts'
import { packagePublisherRoutes } from './packages/publisher/rest.ts'
import { packageRoutes } from './packages/rest.ts'
import { publisherRoutes } from './publishers/rest.ts'
import { scoringAdminRoutes } from './scoring/admin-rest.ts'
import { scoreRoutes } from './scoring/rest.ts'
import { searchRoutes } from './search/rest.ts'
import { sdkRoutes } from './sdks/rest.ts'
import { sessionRoutes } from './sessions/rest.ts'
import { setupRoutes } from './setup/rest.ts'
import { statsRoutes } from './stats/rest.ts'
import { tokenRoutes } from './tokens/rest.ts'
import { uploadRoutes } from './uploads/rest.ts'
import { userRoutes } from './accounts/rest.ts'
import { visibilityRoutes } from './visibility/rest.ts'
import type { RouteGroup } from './rest/openapi.ts'
import type { BinaryRoute, Route } from './rest/route.ts'

/** All REST routes by section of the API reference. */
export const routeGroups: readonly RouteGroup[] = [
  { tag: 'Server', description: 'Health, version and first-run setup.', routes: [...healthRoutes, ...setupRoutes] },
  {
    tag: 'Accounts',
    description: 'Sign-in, sessions, profiles, users and invitations.',
    routes: [...sessionRoutes, ...userRoutes, ...inviteRoutes],
  },
  { tag: 'Tokens', description: 'Personal access tokens.', routes: tokenRoutes },
  { tag: 'OAuth', description: 'Sign-in for command-line clients: authorization codes with PKCE.', routes: oauthRoutes },
  { tag: 'Audit log', description: 'Audit log of security-relevant events, for administrators.', routes: auditRoutes },
  {
    tag: 'Packages',
    description: 'Packages and their versions: listings, archives, options, uploaders and owners.',
    routes: [...packageBinaries, ...archiveBinaries, ...packageRoutes, ...packagePublisherRoutes],
  },
  { tag: 'Publishing', description: 'Upload endpoints for package clients.', routes: uploadRoutes },
  {
    tag: 'Package administration',
    description: 'Deletion of packages, and reserved names.',
    routes: [...packageAdminRoutes, ...nameRoutes],
  },
  { tag: 'Publishers', description: 'Organizations that own packages, and their members.', routes: publisherRoutes },
  {
    tag: 'Feeds and badges',
    description: 'Atom feeds of new versions, and badges for READMEs.',
    routes: [...feedBinaries, ...badgeBinaries],
  },
  { tag: 'Documentation', description: 'Generated API documentation.', routes: docsBinaries },
  { tag: 'Search', description: 'Full-text search of packages.', routes: searchRoutes },
  { tag: 'Usage', description: 'Downloads and likes.', routes: [...downloadRoutes, ...likeRoutes] },
  { tag: 'Scoring', description: 'Analysis of versions: points, tags and reports.', routes: [...scoreRoutes, ...scoringAdminRoutes] },
  { tag: 'SDKs', description: 'Installed Dart and Flutter SDKs.', routes: sdkRoutes },
  { tag: 'Visibility', description: 'Public packages.', routes: visibilityRoutes },
  { tag: 'Legal pages', description: 'Privacy policy and terms of use.', routes: legalRoutes },
  { tag: 'Statistics', description: 'Server statistics, for administrators.', routes: statsRoutes },
]

/** All REST routes. */
export const routes: readonly (Route | BinaryRoute)[] = routeGroups.flatMap((group) => group.routes)

import { auditRoutes } from './accounts/audit/rest.ts'
import { badgeBinaries } from './analysis/badges/binary.ts'
import { docsBinaries, docsRoutes } from './analysis/docs/binary.ts'
import { archiveBinaries } from './registry/downloads/binary.ts'
import { fileBinaries } from './registry/files/binary.ts'
import { imageBinaries } from './registry/images/binary.ts'
import { securityRoutes } from './accounts/security/rest.ts'
import { feedBinaries } from './registry/feeds/binary.ts'
import { previewBinaries } from './registry/preview/binary.ts'
import { sitemapBinaries } from './registry/feeds/sitemap.ts'
import { downloadRoutes } from './registry/downloads/rest.ts'
import { healthRoutes } from './operations/checks/rest.ts'
import { inviteRoutes } from './accounts/invites/rest.ts'
import { logoBinaries } from './operations/identity/binary.ts'
import { legalRoutes } from './operations/legal/rest.ts'
import { likeRoutes } from './registry/likes/rest.ts'
import { nameRoutes } from './registry/names/rest.ts'
import { oauthRoutes } from './accounts/oauth/rest.ts'
import { mirrorBinaries } from './registry/mirror/binary.ts'
import { appRoutes } from './registry/upgrades/apps/rest.ts'
import { mirrorCheckBinaries } from './registry/upgrades/binary.ts'
import { mirrorPolicyRoutes } from './registry/mirror/policies/rest.ts'
import { packageAdminRoutes } from './registry/packages/manage-rest.ts'
import { packageBinaries } from './registry/packages/listing/binary.ts'
import { packageRoutes } from './registry/packages/rest.ts'
import { publisherRoutes } from './registry/publishers/rest.ts'
import { scoringAdminRoutes, scoreRoutes } from './analysis/scoring/rest.ts'
import { searchRoutes } from './registry/search/rest.ts'
import { sdkRoutes } from './analysis/sdks/rest.ts'
import { providerRoutes } from './accounts/providers/rest.ts'
import { serviceAccountRoutes } from './registry/service-accounts/rest.ts'
import { sessionRoutes } from './accounts/sessions/rest.ts'
import { setupRoutes } from './accounts/setup/rest.ts'
import { statsRoutes } from './operations/stats/rest.ts'
import { tokenRoutes } from './accounts/tokens/rest.ts'
import { trustedPublishingRoutes } from './registry/trusted-publishing/rest.ts'
import { uploadRoutes } from './registry/uploads/rest.ts'
import { userRoutes } from './accounts/profile/rest.ts'
import { visibilityRoutes } from './registry/visibility/rest.ts'
import type { Config } from './platform/config/config.ts'
import type { RouteGroup } from './platform/rest/openapi.ts'
import type { BinaryRoute, Route } from './platform/rest/route.ts'

/** All REST routes by section of the API reference. */
const routeGroups: readonly RouteGroup[] = [
  { tag: 'Server', description: 'Health, version, first-run setup and logo.', routes: [...healthRoutes, ...setupRoutes, ...logoBinaries] },
  {
    tag: 'Accounts',
    description: 'Sign-in, sessions, profiles, users and invitations.',
    routes: [...sessionRoutes, ...securityRoutes, ...userRoutes, ...inviteRoutes],
  },
  { tag: 'Sign-in providers', description: 'Signing in through OpenID providers.', routes: providerRoutes },
  { tag: 'Tokens', description: 'Personal access tokens.', routes: tokenRoutes },
  { tag: 'Service accounts', description: 'Accounts of programs, and their tokens.', routes: serviceAccountRoutes },
  { tag: 'OAuth', description: 'Sign-in for command-line clients and devices, and revocation of tokens.', routes: oauthRoutes },
  { tag: 'Audit log', description: 'Audit log of security-relevant events, for administrators.', routes: auditRoutes },
  {
    tag: 'Packages',
    description: 'Packages and their versions: listings, archives, files, options, uploaders and owners.',
    routes: [...packageBinaries, ...archiveBinaries, ...fileBinaries, ...imageBinaries, ...packageRoutes],
  },
  { tag: 'Publishing', description: 'Upload endpoints for package clients.', routes: uploadRoutes },
  { tag: 'Trusted publishing', description: 'CI systems whose jobs publish without a stored secret.', routes: trustedPublishingRoutes },
  {
    tag: 'Package administration',
    description: 'Deletion of packages, and reserved names.',
    routes: [...packageAdminRoutes, ...nameRoutes],
  },
  { tag: 'Publishers', description: 'Organizations that own packages, and their members.', routes: publisherRoutes },
  {
    tag: 'Feeds and badges',
    description: 'Atom feeds of new versions, and badges for READMEs.',
    routes: [...feedBinaries, ...previewBinaries, ...sitemapBinaries, ...badgeBinaries],
  },
  { tag: 'Documentation', description: 'Generated API documentation.', routes: [...docsBinaries, ...docsRoutes] },
  { tag: 'Search', description: 'Full-text search of packages.', routes: searchRoutes },
  { tag: 'Usage', description: 'Downloads and likes.', routes: [...downloadRoutes, ...likeRoutes] },
  { tag: 'Apps', description: 'Lock files of applications that are saved by name.', routes: appRoutes },
  { tag: 'Scoring', description: 'Analysis of versions: points, tags and reports.', routes: [...scoreRoutes, ...scoringAdminRoutes] },
  { tag: 'SDKs', description: 'Installed Dart and Flutter SDKs.', routes: sdkRoutes },
  { tag: 'Visibility', description: 'Public packages.', routes: visibilityRoutes },
  {
    tag: 'Mirror policies',
    description: 'Policies for packages of the mirrored server, for administrators.',
    routes: mirrorPolicyRoutes,
  },
  { tag: 'Legal pages', description: 'Privacy policy and terms of use.', routes: legalRoutes },
  { tag: 'Statistics', description: 'Server statistics, for administrators.', routes: statsRoutes },
]

/** Routes that exist only with UPSTREAM_URL. */
const mirrorGroup: RouteGroup = {
  tag: 'Mirror',
  description: 'Packages of the upstream server, for package clients. The hosted URL is `<SERVER_URL>/mirror`.',
  routes: [...mirrorBinaries, ...mirrorCheckBinaries],
}

/** Returns the REST routes of a server by section of the API reference. */
export const routeGroupsOf = ({ UPSTREAM_URL }: Pick<Config, 'UPSTREAM_URL'>): readonly RouteGroup[] =>
  UPSTREAM_URL === undefined ? routeGroups : [...routeGroups, mirrorGroup]

/** Returns all REST routes of a server. */
export const routesOf = (config: Pick<Config, 'UPSTREAM_URL'>): readonly (Route | BinaryRoute)[] =>
  routeGroupsOf(config).flatMap(({ routes }) => routes)

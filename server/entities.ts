import { ServerAddress } from './packages/hosting/address-entity.ts'
import { Advisory, AdvisoryPackage } from './advisories/entity.ts'
import { AuditCut, AuditLink } from './audit/chain-entity.ts'
import { AuditEntry } from './audit/entity.ts'
import { ArchiveFault } from './packages/faults/entity.ts'
import { IntegrityReport } from './integrity/entity.ts'
import { PackageDownloads, VersionDownloads } from './downloads/entity.ts'
import { VersionDocs } from './docs/entity.ts'
import { Invite } from './invites/entity.ts'
import { Job } from './jobs/entity.ts'
import { LegalDocument } from './legal/entity.ts'
import { RenderedText } from './markdown/entity.ts'
import { PackageLike } from './likes/entity.ts'
import { ConfusableName, ReservedName } from './names/entity.ts'
import { AuthorizationRequest } from './oauth/entity.ts'
import { DeletedVersion, PackageDependency } from './packages/dependency-entity.ts'
import { Package, PackageUploader, PackageVersion, VersionDocument } from './packages/entity.ts'
import { PublisherClaim } from './publishers/claim-entity.ts'
import { DomainCheck } from './publishers/domain-check-entity.ts'
import { Publisher, PublisherMember } from './publishers/entity.ts'
import { SdkInstall } from './sdks/entity.ts'
import { ScoreReport, ScoringLogEntry, VersionSurface } from './scoring/entity.ts'
import { Session } from './sessions/entity.ts'
import { SignInOrigin } from './sessions/origin-entity.ts'
import { ServerSetting } from './settings/entity.ts'
import { SetupCode } from './setup/entity.ts'
import { AccessToken } from './tokens/entity.ts'
import { JobToken } from './tokens/job-entity.ts'
import { Upload } from './uploads/entity.ts'
import { Avatar } from './users/avatar-entity.ts'
import { User } from './users/entity.ts'

/** All database entities. */
export const entities = [
  User,
  Session,
  SignInOrigin,
  AccessToken,
  JobToken,
  SetupCode,
  AuditEntry,
  AuditLink,
  AuditCut,
  Package,
  PackageVersion,
  VersionDocument,
  VersionDocs,
  PackageUploader,
  Upload,
  Invite,
  AuthorizationRequest,
  Avatar,
  Publisher,
  PublisherMember,
  PublisherClaim,
  DomainCheck,
  PackageDependency,
  DeletedVersion,
  ReservedName,
  ConfusableName,
  ServerSetting,
  Job,
  IntegrityReport,
  ArchiveFault,
  VersionDownloads,
  PackageDownloads,
  PackageLike,
  LegalDocument,
  RenderedText,
  Advisory,
  AdvisoryPackage,
  ServerAddress,
  SdkInstall,
  ScoreReport,
  VersionSurface,
  ScoringLogEntry,
]

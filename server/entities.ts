import {
  ServerAddress,
  ArchiveFault,
  DeletedVersion,
  PackageDependency,
  Package,
  PackageUploader,
  PackageVersion,
  VersionDocument,
} from './registry/packages/entity.ts'
import { Advisory, AdvisoryPackage } from './registry/advisories/entity.ts'
import { AuditCut, AuditLink, AuditEntry } from './accounts/audit/entity.ts'
import { IntegrityReport } from './operations/integrity/entity.ts'
import { DailySample } from './operations/stats/entity.ts'
import { PackageDownloads, VersionDownloads } from './registry/downloads/entity.ts'
import { VersionDocs } from './analysis/docs/entity.ts'
import { Invite } from './accounts/invites/entity.ts'
import { Passkey, PasskeyChallenge, RecoveryCode, Totp } from './accounts/factors/entity.ts'
import { Job } from './platform/jobs/entity.ts'
import { RegistryLogo } from './operations/identity/entity.ts'
import { LegalDocument } from './operations/legal/entity.ts'
import { MirrorDecision, MirrorEntry, MirroredName } from './registry/mirror/entity.ts'
import { CachedImage } from './registry/images/entity.ts'
import { RenderedText } from './registry/markdown/entity.ts'
import { PackageLike } from './registry/likes/entity.ts'
import { DeletedPackage, DeletedPackageVersion } from './registry/restoration/entity.ts'
import { ConfusableName, ReservedName } from './registry/names/entity.ts'
import { AuthorizationRequest, DeviceRequest } from './accounts/oauth/entity.ts'
import { PublisherClaim } from './registry/publishers/entity.ts'
import { DomainCheck } from './registry/publishers/entity.ts'
import { Publisher, PublisherMember } from './registry/publishers/entity.ts'
import { SdkInstall } from './analysis/sdks/entity.ts'
import { ScoreReport, ScoringLogEntry, VersionApiVerdict, VersionSurface } from './analysis/scoring/entity.ts'
import { ProviderSession, Session, SignInOrigin } from './accounts/sessions/entity.ts'
import { ServerSetting } from './platform/settings/entity.ts'
import { SetupCode } from './accounts/setup/entity.ts'
import { AccessToken, JobToken } from './accounts/tokens/entity.ts'
import { CiJob, CiJobRule, TokenIssuer, TrustedPublisher, VersionProvenance } from './registry/trusted-publishing/entity.ts'
import { Upload } from './registry/uploads/entity.ts'
import { PackageWatch } from './registry/watching/entity.ts'
import { SavedApp } from './registry/upgrades/apps/entity.ts'
import { LinkedIdentity, OidcProvider, OidcProviderState, OidcAttempt, UsedLogoutToken } from './accounts/providers/entity.ts'
import { Avatar, User } from './accounts/users/entity.ts'

/** All database entities. */
export const entities = [
  User,
  Session,
  SignInOrigin,
  Passkey,
  PasskeyChallenge,
  Totp,
  RecoveryCode,
  OidcProvider,
  OidcProviderState,
  LinkedIdentity,
  OidcAttempt,
  ProviderSession,
  UsedLogoutToken,
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
  TokenIssuer,
  TrustedPublisher,
  CiJob,
  CiJobRule,
  VersionProvenance,
  Upload,
  Invite,
  AuthorizationRequest,
  DeviceRequest,
  Avatar,
  Publisher,
  PublisherMember,
  PublisherClaim,
  DomainCheck,
  PackageDependency,
  DeletedVersion,
  DeletedPackage,
  DeletedPackageVersion,
  ReservedName,
  ConfusableName,
  ServerSetting,
  Job,
  IntegrityReport,
  DailySample,
  ArchiveFault,
  VersionDownloads,
  PackageDownloads,
  PackageLike,
  PackageWatch,
  SavedApp,
  LegalDocument,
  RegistryLogo,
  RenderedText,
  CachedImage,
  MirrorEntry,
  MirrorDecision,
  MirroredName,
  Advisory,
  AdvisoryPackage,
  ServerAddress,
  SdkInstall,
  ScoreReport,
  VersionSurface,
  VersionApiVerdict,
  ScoringLogEntry,
]

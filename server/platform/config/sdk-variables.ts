import { httpUrl, integer, text } from './forms.ts'

/** Settings for downloading SDKs and for running them. */
export const sdkVariables = {
  SCORING_SANDBOX: {
    schema: text,
    about: 'Sandbox for processes of an SDK: `bwrap`, or a command line to prepend, in which {folder} is replaced by the job folder.',
  },
  SCORING_MEMORY_BYTES: {
    schema: integer(2 ** 26, 2 ** 44),
    default: '3221225472',
    about: 'Memory limit for all processes that analyze one version with an SDK, in bytes.',
  },
  SDK_ARCHIVE_URL: {
    schema: httpUrl,
    default: 'https://storage.googleapis.com/dart-archive',
    about: 'Mirror of the Dart SDK archive, for closed networks.',
  },
  FLUTTER_ARCHIVE_URL: {
    schema: httpUrl,
    default: 'https://storage.googleapis.com/flutter_infra_release/releases',
    about: 'Mirror of the Flutter release archive.',
  },
  SDK_PUB_HOSTED_URL: {
    schema: httpUrl,
    default: 'https://pub.dev',
    about: 'Package server from which SDKs download pana and dependencies without another host.',
  },
} as const

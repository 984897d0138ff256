import { httpUrl, integer, text } from './forms.ts'

/** The variables that say where SDKs come from, and what runs from them. */
export const sdkVariables = {
  SCORING_SANDBOX: {
    schema: text,
    about: 'Shuts in what runs from an SDK: `bwrap`, or a command line to put before, in which {folder} is the folder of the job.',
  },
  SCORING_MEMORY_BYTES: {
    schema: integer(2 ** 26, 2 ** 44),
    default: '3221225472',
    about: 'How much memory the processes that judge one version with an SDK may take together.',
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
    about: 'Package server that SDKs get pana from, and dependencies that name no other.',
  },
} as const

const list = (words: string) => words.split(/\s+/).filter(Boolean)

/** Prefixes of names, most frequent first. */
export const starts = list(
  'flutter simple easy dart fast custom my just super smart quick better awesome multi universal tiny micro open neo pure',
)

/** Subjects of packages, most frequent first. */
export const subjects = list(`
  http image json file auth audio video animation chart map location storage database cache network text form date time color icon camera
  bluetooth payment push notification local state router navigation theme locale translation test logger crypto hash token jwt oauth session
  user device sensor battery permission contact calendar event stream socket grpc graphql rest api cloud firebase supabase sqlite mongo redis
  postgres mysql hive isar path directory archive zip tar compression csv excel pdf xml yaml toml markdown html css svg lottie canvas gesture
  scroll list grid table tree carousel slider drawer dialog sheet toast banner badge avatar button checkbox switch radio dropdown search filter
  sort pagination infinite refresh shimmer skeleton loader progress spinner timer countdown clock alarm reminder task todo note chat message
  email sms phone call voice speech recognition ocr barcode qr nfc wifi usb serial printer scanner wallet bitcoin ethereum blockchain stripe
  paypal invoice currency money number math matrix vector geometry physics game sprite tile particle shader noise random uuid id version semver
  git github gitlab ci build code lint analyzer generator annotation reflection macro template parser lexer grammar regex string unicode emoji
  font typography layout responsive adaptive platform window desktop web mobile android ios macos linux windows wear tv car maps weather health
  fitness music player recorder podcast radio movie photo gallery editor crop filter sticker meme quiz survey school book library reader news
  feed rss blog forum social share deep link dynamic url uri dns proxy vpn tunnel ssl certificate key keychain biometric fingerprint face lock
  pin password otp captcha analytics crash report monitor metric trace debug inspector console terminal shell process isolate thread worker
  queue job schedule cron retry rate limit throttle debounce event bus mediator command pattern result either option optional future lazy
  immutable collection set heap graph trie bloom bit byte buffer codec base64 hex binary protobuf msgpack cbor avro`)

/** Kinds of packages, most frequent first. */
export const things = list(`
  widget client plugin kit manager helper view builder picker service provider controller utils tools extension wrapper handler parser
  generator viewer store engine adapter bridge interface driver connector loader factory registry resolver validator formatter converter
  mapper renderer painter animator player recorder scanner reader writer editor inspector monitor tracker logger tester runner server proxy
  gateway middleware interceptor listener observer emitter dispatcher scheduler worker queue pool cache buffer stream channel socket session
  model schema entity repository query`)

/** Suffixes of names, most frequent first. */
export const endings = list('plus pro lite core web ui kit android ios platform_interface utils lints test mock 2 x ng next extended')

/** Verbs of descriptions, most frequent first. */
export const verbs = list(`
  use add make build show get create handle manage display provide support parse convert generate validate render load save store fetch send
  receive pick select open close play record track log test mock format encode decode encrypt decrypt compress scan detect share sync cache
  observe listen dispatch schedule retry throttle animate draw resize crop rotate translate upload download stream connect integrate wrap`)

/** Words of all texts, most frequent first. */
export const common = list(`
  the a to and for with of in is it your you this on that from can by be or an as package app flutter dart widget simple easy not will when
  one all if any use which also more code example null type value function class method library project platform data using other new have
  default set used file are custom based run like only no up has just want need then must should may each both between through without after
  before while where how what why some many most first last next same different own multiple single full fast light powerful flexible modern
  lightweight beautiful complete tiny small large rich reactive declarative safe strict async native pure cross ready production high
  performance friendly tested documented extensible composable configurable minimal elegant robust reliable secure offline online real
  screen page item parameter argument option property field object instance error exception callback event state context key index name id
  dependency version release change issue contribution license community feature install import setup configuration documentation`)

/** Syllables of invented words. */
export const pieces = list(`
  ba be bi bo bu da de di do du fa fe fi fo fu ga ge gi go gu ka ke ki ko ku la le li lo lu ma me mi mo mu na ne ni no nu pa pe pi po pu ra
  re ri ro ru sa se si so su ta te ti to tu va ve vi vo vu`)

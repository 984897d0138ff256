import { Migration } from '@mikro-orm/migrations'

export class Migration20261121000079_version_docs extends Migration {
  override up() {
    this.addSql('create table `version_docs` (`version_id` text not null, `state` text check (`state` in (\'pending\', \'running\', \'completed\', \'failed\')) not null, `requested` integer not null default 0, `generation` integer not null default 0, `engine` text null, `engine_version` text null, `sha256` text null, `bytes` bigint null, `pages` integer not null default 0, `generated_at` datetime null, `error` text null, primary key (`version_id`), constraint `version_docs_version_id_foreign` foreign key (`version_id`) references `package_versions` (`id`) on update cascade on delete cascade);')
    this.addSql('create index `version_docs_version_id_index` on `version_docs` (`version_id`);')
    this.addSql('create index `version_docs_sha256_index` on `version_docs` (`sha256`);')
  }
}

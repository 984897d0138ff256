import { Migration } from '@mikro-orm/migrations'

export class Migration20261121000078_scoring extends Migration {
  override up() {
    this.addSql('alter table `jobs` add column `priority` integer not null default 0;')
    this.addSql('create index `jobs_kind_state_priority_run_at_id_index` on `jobs` (`kind`, `state`, `priority`, `run_at`, `id`);')
    this.addSql("create table `score_reports` (`version_id` text not null, `runs` integer not null default 0, `generation` integer not null default 0, `started_at` datetime null, `finished_at` datetime null, `engine` text null, `engine_version` text null, `granted` integer null, `maximum` integer null, `percent` integer null, `report` text null, `tags` text not null default '', `error` text null, `log` text null, primary key (`version_id`), constraint `score_reports_version_id_foreign` foreign key (`version_id`) references `package_versions` (`id`) on update cascade on delete cascade);")
    this.addSql('create index `score_reports_version_id_index` on `score_reports` (`version_id`);')
    this.addSql('create table `version_surfaces` (`version_id` text not null, `surface` blob not null, primary key (`version_id`), constraint `version_surfaces_version_id_foreign` foreign key (`version_id`) references `package_versions` (`id`) on update cascade on delete cascade);')
    this.addSql('create index `version_surfaces_version_id_index` on `version_surfaces` (`version_id`);')
    this.addSql("create table `scoring_log` (`id` text not null, `created_at` datetime not null, `level` text check (`level` in ('info', 'warning', 'error')) not null, `package` text null, `version` text null, `message` text not null, primary key (`id`));")
    this.addSql('alter table `package_search_documents` add column `score` integer not null default -1;')
    this.addSql('create index `package_search_documents_score` on `package_search_documents` (`score`, `id`);')
    this.addSql('create index `package_search_documents_public_score` on `package_search_documents` (`score`, `id`) where `shown_to` = 2;')
  }
}
